import { existsSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const EXAMPLES = ['nestjs-typeorm', 'nextjs-prisma']

/** Examples that need packages of this folder find them as in a project of their own. The links stay, as an install would. */
export function setup(): void {
  for (const name of EXAMPLES) {
    const link = fileURLToPath(new URL(`../../examples/${name}/node_modules`, import.meta.url))
    if (!existsSync(link)) symlinkSync('../../test/orms/node_modules', link, 'dir')
  }
}
