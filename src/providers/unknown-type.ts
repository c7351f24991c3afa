/** The type of an event whose sender does not say one, or not where it should. */
export const UNKNOWN_TYPE = 'unknown'
