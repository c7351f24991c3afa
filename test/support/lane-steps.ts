export * from '../../src/testing/store/steps/lane-steps.ts'
