import { onTestFinished } from 'vitest'
import { Subject } from './subject.ts'
import type { SpawnOptions, SubjectKind } from './subject.ts'
import type { SubjectConfig } from './subject-messages.ts'

/** Starts child processes that are gone when the running test ends. */
export async function startSubjects(
  kind: SubjectKind,
  count: number,
  config: SubjectConfig,
  options: SpawnOptions = {},
): Promise<readonly Subject[]> {
  const subjects = spawn(kind, count, options)
  return Promise.all(subjects.map((subject) => subject.start(config)))
}

/** The same for processes that may be gone before they could say that they have started. */
export async function beginSubjects(
  kind: SubjectKind,
  count: number,
  config: SubjectConfig,
  options: SpawnOptions = {},
): Promise<readonly Subject[]> {
  const subjects = spawn(kind, count, options)
  return Promise.all(subjects.map((subject) => subject.begin(config)))
}

export async function startSubject(
  kind: SubjectKind,
  config: SubjectConfig,
  options: SpawnOptions = {},
): Promise<Subject> {
  const [subject] = await startSubjects(kind, 1, config, options)
  return subject as Subject
}

function spawn(kind: SubjectKind, count: number, options: SpawnOptions): readonly Subject[] {
  const subjects = Array.from({ length: count }, () => new Subject(kind, options))
  onTestFinished(async () => {
    await Promise.all(subjects.map((subject) => subject.kill()))
  })
  return subjects
}
