/** How much of each is in the story of an event. A sender that repeats itself for a month must not fill the memory. */
export const STORY_MAX = {
  deliveries: 1_000,
  failures: 1_000,
  steps: 10_000,
  messages: 100,
  beside: 100,
} as const
