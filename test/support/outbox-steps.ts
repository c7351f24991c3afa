export * from '../../src/testing/store/steps/outbox-steps.ts'
