import { existsSync, rmSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const EXAMPLES = ['nestjs-typeorm', 'nextjs-prisma']

/** The links stay, as an install would. */
export function setup(): void {
  linkExamples()
  linkLibsql()
}

/** Examples that need packages of this folder find them as in a project of their own. */
function linkExamples(): void {
  for (const name of EXAMPLES) {
    const link = fileURLToPath(new URL(`../../examples/${name}/node_modules`, import.meta.url))
    if (!existsSync(link)) symlinkSync('../../test/orms/node_modules', link, 'dir')
  }
}

/**
 * MikroORM and Prisma bring a libsql of their own, and the store uses that of the root. To two copies of SQLite in one
 * process the locks of the other are no locks.
 */
function linkLibsql(): void {
  for (const [folder, root] of [
    ['node_modules', '../../../node_modules/libsql'],
    ['mikro-orm-7/node_modules', '../../../../node_modules/libsql'],
  ] as const) {
    const own = fileURLToPath(new URL(`${folder}/libsql`, import.meta.url))
    rmSync(own, { recursive: true, force: true })
    symlinkSync(root, own, 'dir')
  }
}
