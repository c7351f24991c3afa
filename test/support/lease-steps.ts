export * from '../../src/testing/store/steps/lease-steps.ts'
