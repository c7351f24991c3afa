import type { PostgresServer } from '../postgres/start-postgres.ts'

/**
 * Starts a server that was stopped or killed. The memory it shared with its children is in use until the
 * last of them has ended, and until then it refuses to start.
 */
export async function startAgain(server: PostgresServer): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await server.start()
    } catch (error) {
      if (tries === 50 || !String(error).includes('still in use')) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
