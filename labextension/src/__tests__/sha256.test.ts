import { createHash } from 'node:crypto';

import { sha256 } from '../notebook/sha256';

describe('sha256', () => {
  it('is what every other implementation says, at all lengths around a block and for all of Unicode', () => {
    const texts = ['', 'abc', 'ä€😀\u0000', ...Array.from({ length: 140 }, (_, length) => 'x'.repeat(length))];
    texts.push('0123456789'.repeat(20000));
    for (const text of texts) {
      expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
    }
  });
});
