import js from '@eslint/js';
import jupyter from '@jupyter/eslint-plugin';
import prettier from 'eslint-config-prettier';
import typescript from 'typescript-eslint';

export default [
  {
    ignores: ['labextension/lib/**', 'labextension/src/types.ts', 'labextension/**/*.mjs', 'labextension/style/**']
  },
  js.configs.recommended,
  ...typescript.configs.recommended,
  ...[jupyter.configs.recommended].flat(),
  prettier,
  {
    files: ['labextension/**/*.{ts,tsx}'],
    languageOptions: {
      parserOptions: { project: './labextension/tsconfig.lint.json' }
    },
    rules: {
      // The model is needed at once: it tells of decisions that wait, whether or not the panel is open.
      'jupyter/prefer-lazy-imports': 'off',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-namespace': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'no-undef': 'off',
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Use textContent: models and data write this text.' },
        { property: 'outerHTML', message: 'Use textContent: models and data write this text.' },
        { property: 'insertAdjacentHTML', message: 'Use textContent.' }
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
          message: 'Models and data write this text: it is shown literally.'
        }
      ]
    }
  },
  {
    files: ['labextension/src/__tests__/**'],
    rules: { 'jupyter/no-untranslated-string': 'off' }
  }
];
