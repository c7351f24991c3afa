const { expect, test } = require('@jest/globals')
require('hookonce/testing/jest-globals')

test('the expect of @jest/globals has the matchers by a require', () => {
  expect([]).not.toHaveBeenSentOnce()
})
