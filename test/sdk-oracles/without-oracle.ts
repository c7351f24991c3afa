/**
 * Providers without an oracle, and why. Their vectors in `test/providers/vectors.json` come from their
 * documents. "Verifies nothing" was looked up in the package of the version that is named.
 */
export const WITHOUT_ORACLE: Readonly<Record<string, string>> = {
  ably: 'its library (ably 2.28.0) verifies nothing',
  airtable: 'its library (airtable 0.12.2) verifies nothing',
  asana: 'its library (asana 3.2.0) manages webhooks and verifies nothing',
  auth0: 'log streams show a token and sign nothing; its library (auth0 7.1.0) verifies nothing',
  cal_com: 'has no library that knows its webhooks (@calcom/sdk 1.0.1 has no word of them)',
  calendly: 'has no library',
  circleci: 'its library writes configurations and nothing else',
  docusign: 'its library (docusign-esign 10.0.0) verifies nothing',
  dropbox: 'its library (dropbox 10.34.0) verifies nothing',
  figma: 'shows a passcode and signs nothing; its package has types alone',
  flutterwave: 'its library (flutterwave-node-v3 1.4.1) verifies nothing',
  intercom: 'its library (intercom-client 7.0.3) verifies nothing',
  klarna: 'has no library',
  lemonsqueezy:
    'its library (@lemonsqueezy/lemonsqueezy.js 4.0.0) manages webhooks and verifies nothing',
  mailchimp: 'signs nothing',
  mailgun: 'its library (mailgun.js 14.0.1) verifies nothing; mailgun-js is not by Mailgun',
  mandrill: 'its library (@mailchimp/mailchimp_transactional 1.4.1) verifies nothing',
  microsoft_graph:
    'shows a client state; its library (@microsoft/microsoft-graph-client 3.0.7) verifies nothing',
  okta: 'shows a header and signs nothing',
  pagerduty: 'its library (@pagerduty/pdjs 2.2.4) has no word of webhooks',
  paypal:
    'its old library asks PayPal over the network, the new one (@paypal/paypal-server-sdk 2.5.0) verifies nothing',
  paystack: 'its library (@paystack/paystack-sdk 1.2.1) has no word of webhooks',
  postmark: 'shows a password and signs nothing',
  recurly: 'its library (recurly 4.81.0) has no word of webhooks',
  segment: 'its library (@segment/analytics-node 3.1.0) sends and does not receive',
  sentry: 'its library (@sentry/node 11.11.0) sends and does not receive',
  trello: 'has no library of its own',
  typeform: 'its library (@typeform/api-client 2.8.0) manages webhooks and verifies nothing',
  vercel: 'its library (@vercel/sdk 1.28.35) manages webhooks and verifies nothing',
  woocommerce: 'its library (@woocommerce/woocommerce-rest-api 1.0.2) has no word of webhooks',
  x: 'its only library that verifies (twitter-autohook 1.7.2) cannot be installed: it needs a version of a package that the registry does not have',
  xero: 'its library (xero-node 20.0.0) has no word of webhooks',
  zendesk: 'has no library of its own',
}
