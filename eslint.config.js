import eslint from '@eslint/js'
import tseslint from 'typescript-eslint'

const NO_DEFAULT_EXPORT = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export it by its name.',
}
const NO_ENUM = {
  selector: 'TSEnumDeclaration',
  message: 'Use a const array and the type made from it: types here are erasable.',
}

/**
 * The lint rules. A rule is switched off only with its reason beside it; what the formatter, the
 * compiler or `scripts/check-imports.ts` already decides is not decided here again.
 */
export default tseslint.config(
  // Those in test/runners import what was built, as a user does, and the compiler does not know them.
  {
    ignores: [
      'dist/',
      'coverage/',
      'test/docs/generated/',
      'test/orms/generated/',
      'examples/nextjs-prisma/generated/',
      'test/runners/**/*.{mjs,js,ts}',
    ],
  },

  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
  },

  {
    rules: {
      // A default export has no name of its own, so that each importer gives it another one.
      'no-restricted-syntax': ['error', NO_DEFAULT_EXPORT, NO_ENUM],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'separate-type-imports' },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      // `== null` is both kinds of nothing, and a driver gives either.
      eqeqeq: ['error', 'always', { null: 'ignore' }],

      // A number in a template literal reads as itself; the rule is kept for everything that does not.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Off: `() => log(x)` as a callback and `return log(x)` in a switch are shorter than the block and
      // mean the same; that nothing is done with the nothing is checked by the types.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // `||` on text is meant: a sender's empty string is as good as none.
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignorePrimitives: { string: true } },
      ],
      // Off: it asks for `!`, which says that something is there and not what; src may not use `!`.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      // Off: a row is a `type`, because an interface cannot be passed where an index signature is asked for.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // Off: control characters are what senders put where they should not, and what we look for.
      'no-control-regex': 'off',
      // Off: an interface must be met by methods that have nothing to wait for (SQLite answers at once).
      '@typescript-eslint/require-await': 'off',
      // Off, for the same reason: SQLite has no listener to notify and no statement to cancel.
      '@typescript-eslint/no-empty-function': 'off',
      // Off: the payload type of a handler appears once in its signature, and that is what carries it.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // Off: types from outside are claims. A check of what a driver or a sender really gave stays,
      // though the compiler believes that it cannot fail.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Off: an index signature and Record mean the same; the compiler already asks for brackets to read it.
      '@typescript-eslint/dot-notation': 'off',
    },
  },

  {
    files: ['test/**', 'bench/**', 'examples/**', 'scripts/**'],
    rules: {
      // Off: a test says first that the thing is there (`expect(x).toBeDefined()`), then reads it.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Off: the matchers of the test runner (`expect.any(String)`) are of type any.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      // Off: a test takes what it was set up with apart; a method that lost its `this` fails it at once.
      '@typescript-eslint/unbound-method': 'off',
      // Off: a NestJS module is an empty class under a decorator.
      '@typescript-eslint/no-extraneous-class': 'off',
    },
  },

  {
    files: ['test/types/**'],
    rules: {
      // Off: a type test makes values for the sake of their types.
      '@typescript-eslint/no-unused-vars': 'off',
    },
  },

  {
    files: ['src/verify/**', 'src/body/**', 'src/providers/**'],
    rules: {
      // A digest compared with === tells a forger, by the time it takes, how many of its bytes were right.
      'no-restricted-syntax': [
        'error',
        NO_DEFAULT_EXPORT,
        NO_ENUM,
        {
          selector:
            "BinaryExpression[operator=/^[!=]==?$/]:matches([left.name=/(digest|signature|mac)$/i], [right.name=/(digest|signature|mac)$/i]):not([right.name='undefined'], [right.type='Literal'])",
          message: 'Compare it with timingSafeEqual.',
        },
      ],
    },
  },

  {
    // Configuration files are read by tools that ask for a default export, and no project lists the .js one.
    files: ['**/*.config.ts', '*.config.js', 'test/**/global-setup.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  // The types here are those of libraries that `npm run test:orms` installs, which checks them.
  {
    files: ['**/*.js', 'test/orms/**', 'examples/{nestjs-typeorm,nextjs-prisma}/**'],
    extends: [tseslint.configs.disableTypeChecked],
  },
)
