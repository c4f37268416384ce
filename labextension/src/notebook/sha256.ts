/**
 * SHA-256 (FIPS 180-4) of a text's UTF-8 bytes, in hexadecimal.
 *
 * `crypto.subtle` is not there on pages without https, and is asynchronous: a cell could change between the hash and
 * what follows from it.
 */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const padded = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6));
  bytes.forEach((byte, index) => padded.setUint8(index, byte));
  padded.setUint8(bytes.length, 0x80);
  padded.setUint32(padded.byteLength - 8, Math.floor(bytes.length / 0x20000000));
  padded.setUint32(padded.byteLength - 4, (bytes.length << 3) >>> 0);
  const hash = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let index = 0; index < 64; index++) {
      words[index] =
        index < 16
          ? padded.getUint32(block + 4 * index)
          : words[index - 16] +
            small(words[index - 15], 7, 18, 3) +
            words[index - 7] +
            small(words[index - 2], 17, 19, 10);
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let index = 0; index < 64; index++) {
      const first = (h + big(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUND[index] + words[index]) >>> 0;
      const second = (big(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))) >>> 0;
      [a, b, c, d, e, f, g, h] = [(first + second) >>> 0, a, b, c, (d + first) >>> 0, e, f, g];
    }
    [a, b, c, d, e, f, g, h].forEach((value, index) => (hash[index] += value));
  }
  return [...hash].map(value => value.toString(16).padStart(8, '0')).join('');
}

const turn = (value: number, by: number): number => (value >>> by) | (value << (32 - by));
const big = (value: number, x: number, y: number, z: number): number =>
  turn(value, x) ^ turn(value, y) ^ turn(value, z);
const small = (value: number, x: number, y: number, z: number): number =>
  turn(value, x) ^ turn(value, y) ^ (value >>> z);

/** The first 32 bits of the fractional parts of roots of the first primes: square roots to start, cube roots a round. */
const PRIMES = primes(64);
const START = PRIMES.slice(0, 8).map(prime => fraction(Math.sqrt(prime)));
const ROUND = PRIMES.map(prime => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 0x100000000);
}

function primes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) {
    if (found.every(prime => number % prime !== 0)) {
      found.push(number);
    }
  }
  return found;
}
