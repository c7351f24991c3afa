import { once } from 'node:events'
import { connect } from 'node:net'

export interface RedisReading {
  readonly cpuUs: number
  readonly logBytes: number
}

/** What Redis says about itself, over its socket. */
export class RedisMeter {
  readonly #path: string

  constructor({ path }: { readonly path: string }) {
    this.#path = path
  }

  async read(): Promise<RedisReading> {
    return parseRedisInfo(await this.say(['INFO everything']))
  }

  /** Everything that is answered. */
  async say(commands: readonly string[]): Promise<string> {
    const socket = connect(this.#path)
    socket.write([...commands, 'QUIT', ''].join('\r\n'))
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => (answer += text))
    await once(socket, 'close')
    return answer
  }
}

/** @param info - the answer to `INFO everything` */
export function parseRedisInfo(info: string): RedisReading {
  const value = (name: string): number => {
    const found = new RegExp(`^${name}:(.+)$`, 'm').exec(info)?.[1]
    return found === undefined ? 0 : Number(found)
  }
  const seconds =
    value('used_cpu_sys') +
    value('used_cpu_user') +
    value('used_cpu_sys_children') +
    value('used_cpu_user_children')
  return { cpuUs: seconds * 1e6, logBytes: value('aof_current_size') }
}
