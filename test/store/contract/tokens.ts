import { describe, expect, test } from 'vitest'
import { openStore } from '../../support/store-under-test.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'

/** What every store must keep of the tokens of operators. */
export function tokensContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a token`, () => {
    test('is found by its hash until it is revoked, in every process, and the audit tells', async () => {
      const { store, second } = await openStore(underTest)
      const other = await second()
      const draft = { name: 'ci', role: 'operator', hash: 'aa', lifetimeMs: undefined }

      expect(await store.tokens.create(draft, 'ada')).toBe(true)
      expect(await other.tokens.find('aa')).toEqual({ name: 'ci', role: 'operator' })
      expect(await other.tokens.find('ab')).toBeUndefined()
      expect(await other.tokens.revoke('ci', undefined)).toBe(true)

      expect(await store.tokens.find('aa')).toBeUndefined()
      expect(await store.tokens.revoke('ci', undefined)).toBe(false)
      expect(await store.operators.listAudit({ limit: 10 })).toMatchObject([
        { action: 'revokeToken', actor: undefined, subject: { kind: 'token', id: 'ci' } },
        { action: 'createToken', actor: 'ada', subject: { kind: 'token', id: 'ci' } },
      ])
    })

    test('has a name of its own: of ten that are made at once, one is', async () => {
      const { store, second } = await openStore(underTest)
      const stores = [store, await second()]

      const made = await Promise.all(
        Array.from({ length: 10 }, (_, nth) =>
          stores[nth % 2]!.tokens.create(
            { name: 'ci', role: 'viewer', hash: `hash ${nth}`, lifetimeMs: undefined },
            undefined,
          ),
        ),
      )

      expect(made.filter((isMade) => isMade)).toHaveLength(1)
      expect(await store.tokens.list()).toHaveLength(1)
      expect(await store.operators.listAudit({ limit: 10 })).toHaveLength(1)
    })

    test('does not count once its time is over, and is listed all the same', async () => {
      const { store } = await openStore(underTest)
      const draft = { role: 'viewer', lifetimeMs: 3_600_000 }
      await store.tokens.create({ ...draft, name: 'b', hash: 'aa' }, undefined)
      await store.tokens.create({ ...draft, name: 'a', hash: 'bb', lifetimeMs: -1 }, undefined)

      expect(await store.tokens.find('aa')).toEqual({ name: 'b', role: 'viewer' })
      expect(await store.tokens.find('bb')).toBeUndefined()
      const [over, living] = await store.tokens.list()
      expect([over?.name, living?.name]).toEqual(['a', 'b'])
      expect(living!.expiresAt!.getTime() - living!.createdAt.getTime()).toBe(3_600_000)
    })
  })
}
