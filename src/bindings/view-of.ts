/** The same object to a library but for these members, and untouched. */
export function viewOf<Viewed extends object>(viewed: Viewed, members: object): Viewed {
  return Object.assign(Object.create(viewed) as Viewed, members)
}
