/**
 * Claims a key in a transaction of the user's, and stores its event with it.
 *
 * A function, so that it is one round trip, and so that each of its statements has a snapshot of its own under READ
 * COMMITTED: the insert waits for the transaction that has the key, and the look after it sees what that one has
 * committed. Under REPEATABLE READ and SERIALIZABLE the insert itself fails with 40001 where the winner committed after
 * the snapshot, which is for the user to try again.
 *
 * Where it may not wait, the wait is cut off after a millisecond, in a block whose savepoint keeps the transaction
 * alive. An advisory lock would see other calls of this function, and not a delivery that is being stored.
 *
 * A duplicate writes a message to the log, for the reason given in `record-known.ts`: a consumer that acknowledges after
 * its COMMIT must know that the first one is on the disk.
 *
 * All parameters are sent as text, and the answer is one text: what a driver makes of other types differs.
 *
 * @module
 */

export const CREATE_CLAIM_ONCE = `
create or replace function {schema}.claim_once(
  new_id uuid, new_source text, new_key bytea, new_type text, new_hash bytea, new_fingerprint bytea, new_body bytea,
  new_headers text, new_is_text boolean, may_wait boolean)
returns text
language plpgsql as $claim_once$
declare
  user_lock_timeout text := current_setting('lock_timeout');
  claimed integer;
  owner record;
begin
  for tries in 1..3 loop
    if may_wait then
      insert into {schema}.keys (hash, event_id, fingerprint)
      values (new_hash, new_id, new_fingerprint)
          on conflict do nothing;
      get diagnostics claimed = row_count;
    else
      begin
        perform set_config('lock_timeout', '1', true);
        insert into {schema}.keys (hash, event_id, fingerprint)
        values (new_hash, new_id, new_fingerprint)
            on conflict do nothing;
        get diagnostics claimed = row_count;
        perform set_config('lock_timeout', user_lock_timeout, true);
      exception when lock_not_available then
        return json_build_object('owner', null)::text;
      end;
    end if;
    if claimed = 1 then
      insert into {schema}.events
             (id, source, event_key, type, topic, key_hash, body, headers, received_at, verified_by, is_text)
      values (new_id, new_source, new_key, new_type, -1, new_hash, new_body, new_headers, clock_timestamp(), 'once',
              new_is_text);
      return json_build_object('owner', new_id)::text;
    end if;
    select k.event_id, encode(k.fingerprint, 'hex') as fingerprint, o.state, o.result
      into owner
      from {schema}.keys k
      left join lateral (select state, result
                           from {schema}.outcomes
                          where outcomes.event_id = k.event_id
                          order by run desc
                          limit 1) o on true
     where k.hash = new_hash;
    if found then
      perform pg_logical_emit_message(true, 'hookonce', '');
      return json_build_object('owner', owner.event_id, 'fingerprint', owner.fingerprint,
                               'state', owner.state, 'result', owner.result)::text;
    end if;
    -- The key was pruned or forgotten between the two.
  end loop;
  raise 'the key was dropped while it was being claimed' using errcode = 'serialization_failure';
end
$claim_once$;`

// $1 id  $2 source  $3 key in base64  $4 type  $5 hash as hex  $6 fingerprint as hex  $7 body in base64  $8 headers
// $9 is text  $10 may wait
export const CLAIM_ONCE = `
  select {schema}.claim_once($1::text::uuid, $2::text, decode($3::text, 'base64'), $4::text, decode($5::text, 'hex'),
                             decode($6::text, 'hex'), decode($7::text, 'base64'), $8::text, $9::text::boolean,
                             $10::text::boolean) as claimed`

// $1 event  $2 started ago in ms  $3 duration  $4 result
//
// Of an event that is gone, with the savepoint that it was written behind, the id is null, and that is refused.
export const FINISH_ONCE = `
  insert into {schema}.outcomes
         (event_id, run, state, attempts, started_at, duration_ms, result, settled_at)
  values ((select id from {schema}.events where id = $1::text::uuid), 0, 'done', 1,
          clock_timestamp() - $2::text::float8 * interval '1 millisecond',
          $3::text::integer, $4::text, clock_timestamp())`
