/** The types of columns that Prisma knows, as its driver adapters number them. */
export const COLUMN = {
  int32: 0,
  int64: 1,
  float: 2,
  double: 3,
  numeric: 4,
  boolean: 5,
  text: 7,
  date: 8,
  time: 9,
  dateTime: 10,
  json: 11,
  bytes: 13,
  uuid: 15,
  unknownNumber: 128,
} as const
