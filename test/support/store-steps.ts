export * from '../../src/testing/store/steps/store-steps.ts'
