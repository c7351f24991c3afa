/** A process that writes by one of these libraries until it is killed (`killContract`). */

import { mikroOrmTx } from '../../src/bindings/mikro-orm.ts'
import { sequelizeTx } from '../../src/bindings/sequelize.ts'
import { typeormTx } from '../../src/bindings/typeorm.ts'
import { readKilledOptions, runUntilKilled } from '../bindings/run-until-killed.ts'

const options = readKilledOptions()
switch (options.library) {
  case 'typeorm': {
    const { insertWithTypeorm, openTypeorm } = await import('./typeorm-effects.ts')
    await runUntilKilled(options, {
      binding: typeormTx(await openTypeorm(options.database)),
      insert: insertWithTypeorm,
    })
    break
  }
  case 'sequelize': {
    const { insertWithSequelize, openSequelize } = await import('./sequelize-effects.ts')
    await runUntilKilled(options, {
      binding: sequelizeTx(openSequelize(options.database).sequelize),
      insert: insertWithSequelize,
    })
    break
  }
  case 'mikro-orm': {
    const { Effect, openMikroOrm } = await import('./mikro-orm-effects.ts')
    await runUntilKilled(options, {
      binding: mikroOrmTx(await openMikroOrm(options.database)),
      // Left to the flush of ours, after the handler has returned.
      insert: async (tx, eventKey, note) => tx.create(Effect, { eventKey, note }),
    })
    break
  }
  case 'prisma': {
    const { createBinding, createSqliteBinding, insert } = await import('./prisma-subject.ts')
    const create = options.database.engine === 'postgres' ? createBinding : createSqliteBinding
    await runUntilKilled(options, { binding: create(), insert })
    break
  }
  case 'postgres-js': {
    const { createBinding, insert } = await import('./postgres-js-subject.ts')
    if (options.database.engine !== 'postgres') throw new Error('It is for PostgreSQL')
    await runUntilKilled(options, { binding: createBinding(options.database.config), insert })
    break
  }
  default:
    throw new Error(`There is no library ${options.library} here`)
}
