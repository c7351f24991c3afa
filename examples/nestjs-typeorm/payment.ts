import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'

/** A table of the service, in the database that also keeps the events. */
@Entity('payments')
export class Payment {
  @PrimaryGeneratedColumn() id!: number
  @Column('text') invoice!: string
  @Column('integer') cents!: number
}
