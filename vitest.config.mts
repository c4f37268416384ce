import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'jsdom',
    globals: true,
    include: ['labextension/src/**/*.test.{ts,tsx}'],
    setupFiles: ['labextension/src/__tests__/setup.ts'],
    server: {
      deps: { inline: [/@jupyterlab\//, /@jupyter\//, /@lumino\//, /@rjsf\//] }
    },
    css: false
  }
});
