/**
 * Gateways that share one database, each a process with one role.
 *
 * @module
 */

import { bundleCommand } from '../faults/bundle-program.ts'
import type { Balancer } from './balancer.ts'
import { Child } from './child.ts'

export interface FleetShape {
  readonly receivers: number
  readonly workers: number
  readonly relays: number
}

export interface FleetOptions {
  readonly shape: FleetShape
  /** As a config has it. */
  readonly store: string
  /** Where the config is. */
  readonly folder: string
  /** Is told of every receiver that is ready. */
  readonly balancer: Balancer
  /** The command; left out, from its source. */
  readonly main?: string | undefined
}

type FleetRole = 'receive' | 'work' | 'relay'

interface Member {
  readonly role: FleetRole
  child: Child
}

export class GatewayFleet {
  readonly #options: FleetOptions
  readonly #members: Member[] = []
  readonly #exitCodes: (number | null)[] = []

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** How the processes ended that were told to. */
  get exitCodes(): readonly (number | null)[] {
    return this.#exitCodes
  }

  async start(): Promise<void> {
    const { receivers, workers, relays } = this.#options.shape
    const roles: readonly FleetRole[] = [
      ...Array<FleetRole>(receivers).fill('receive'),
      ...Array<FleetRole>(workers).fill('work'),
      ...Array<FleetRole>(relays).fill('relay'),
    ]
    this.#members.push(...roles.map((role) => ({ role, child: this.#launch(role) })))
    await Promise.all(this.#members.map((member) => this.#untilServing(member)))
  }

  /** SIGTERM to one after the other; the next one goes when the new one in its place serves. */
  async restartEach(before: () => Promise<void>): Promise<void> {
    for (const member of this.#members) {
      await before()
      await member.child.kill('SIGTERM')
      this.#exitCodes.push(member.child.exitCode)
      member.child = this.#launch(member.role)
      await this.#untilServing(member)
    }
  }

  async kill(): Promise<void> {
    await Promise.all(this.#members.map(({ child }) => child.kill()))
  }

  #launch(role: FleetRole): Child {
    const { store, folder, main = bundleCommand() } = this.#options
    return new Child(main, ['start', '--role', role, '--store', store, '--port', '0'], folder)
  }

  async #untilServing({ role, child }: Member): Promise<void> {
    const said = await child.untilWritten('gateway.started')
    if (role !== 'receive') return
    this.#options.balancer.add(Number(/"receive":\{[^}]*"port":(\d+)/.exec(said)?.[1]))
  }
}
