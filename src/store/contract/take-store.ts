import { OptionInvalidError } from '../../errors.ts'

const taken = new WeakSet<object>()

/**
 * An inbox, or an operator, closes its store: another one that had it as well would be left without.
 *
 * @throws OptionInvalidError when another inbox or operator has it
 */
export function takeStore(maker: 'createInbox' | 'createOperator', store: object): void {
  if (taken.has(store)) {
    throw new OptionInvalidError(
      `${maker}.store`,
      'a store of its own, since an inbox or an operator closes its store: make another one, on the same pool or file',
      store,
    )
  }
  taken.add(store)
}
