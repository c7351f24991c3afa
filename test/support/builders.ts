export * from '../../src/testing/store/steps/builders.ts'
