import type { Counts } from './count-effects.ts'
import type { CrashRun } from './crash-run.ts'

/** Says what was counted, whether all is well or not. */
export function reportRun({ database, faults, fleet }: CrashRun, counts: Counts | undefined): void {
  const said = counts === undefined ? 'nothing could be counted' : describe(counts)
  console.log(`${database.engine}: ${said}`)
  if (counts !== undefined && counts.unheard > 0)
    console.log(`  ${counts.unheard} more were stored, and their answer was lost`)
  console.log(`  ${fleet.replaced} processes were replaced`)
  for (const [name, times] of faults) console.log(`  ${String(times).padStart(5)} × ${name}`)
}

function describe(counts: Counts): string {
  const always = `${counts.acknowledged} events acknowledged, ${counts.appliedOnce} applied once, ${counts.lost} lost, ${counts.doubled} doubled`
  const broken: readonly [number, string][] = [
    [counts.storedTwice, 'stored twice'],
    [counts.notDone, 'not done'],
    [counts.withoutOutcome, 'without outcome'],
  ]
  const more = broken.flatMap(([times, what]) => (times === 0 ? [] : [`, ${times} ${what}`]))
  return always + more.join('')
}
