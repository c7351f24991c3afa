export const CREATE_REQUIRE_SETTINGS = `
-- For functions whose call is a transaction of its own: it must not depend on what the role has as defaults.
create or replace function {schema}.require_settings() returns void language plpgsql as $require_settings$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise 'this needs READ COMMITTED' using errcode = 'active_sql_transaction';
  end if;
  perform set_config('synchronous_commit', 'on', true), set_config('lock_timeout', '5000', true);
end
$require_settings$;`
