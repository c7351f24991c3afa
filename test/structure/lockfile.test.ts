import fs from 'node:fs'
import { expect, test } from 'vitest'

interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

interface LockedPackage {
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * npm leaves an optional package out of the lockfile, without a word, when the registry does not
 * have it at that moment; `npm ci` then refuses the lockfile on every machine. Compilers ship one
 * such package per platform, and a fresh release may lack some of them for days.
 */
test.each([
  'package-lock.json',
  'test/sdk-oracles/package-lock.json',
  'test/bundlers/package-lock.json',
  'test/orms/package-lock.json',
])('%s holds every optional package that it names', (file) => {
  const { packages } = readJson(file) as Lockfile

  const missing = Object.entries(packages).flatMap(([owner, entry]) =>
    Object.keys(entry.optionalDependencies ?? {}).filter(
      (name) => !isLocked(packages, owner, name),
    ),
  )

  expect(Object.keys(packages).length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

/** Newer versions of npm run an install script only if `allowScripts` says so; older ones ignore the field. */
test('every install script among the development dependencies is allowed by name', () => {
  const { packages } = readJson('package-lock.json') as Lockfile
  const { allowScripts } = readJson('package.json') as { allowScripts: Record<string, boolean> }

  const scripted = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript === true)
  const names = scripted.map(([folder]) =>
    folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length),
  )

  expect([...new Set(names)].sort()).toEqual(Object.keys(allowScripts).sort())
})

function readJson(name: string): unknown {
  return JSON.parse(fs.readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
}

/** Looks where Node would look: beside the owner's own packages, then further up. */
function isLocked(packages: Lockfile['packages'], owner: string, name: string): boolean {
  for (
    let folder = owner;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
  ) {
    if (packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`] !== undefined)
      return true
    if (folder === '') return false
  }
}
