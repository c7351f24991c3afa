/** Next.js calls this once, when the server starts. */
export async function register(): Promise<void> {
  if (process.env['NEXT_RUNTIME'] !== 'nodejs') return
  const { getInbox, stopInbox } = await import('./lib/inbox.ts')
  await getInbox().start()
  // Next.js ends the process by itself. What still runs then is rolled back, and runs after the next start.
  process.once('SIGTERM', () => void stopInbox())
}
