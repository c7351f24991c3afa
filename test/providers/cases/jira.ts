import { jiraFixture } from '../../../src/testing/fixtures/jira.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: jiraFixture,
  uncovered: {
    headers: {
      'x-atlassian-webhook-identifier':
        'not signed; the same bytes under another identifier are quarantined',
    },
  },
  retryOf: (_, resign) => resign({ headers: { 'x-atlassian-webhook-retry': '1' } }),
}
