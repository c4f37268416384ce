/** Numbers as a person reads them. Only for what this page measures itself; the server words the rest. */

/** Seconds as `1:02:03`, `2:03` or `0:03`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** Seconds in words short enough for a table: `0.4 s`, `12 s`, `3 min`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 60) {
    return `${seconds < 10 ? Math.round(seconds * 10) / 10 : Math.round(seconds)} s`;
  }
  const minutes = Math.round(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

/** Bytes in the unit that fits: `512 B`, `1.5 kB`, `2.1 GB`. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let place = 0;
  while (count >= 1000 && place < units.length - 1) {
    count /= 1000;
    place += 1;
  }
  return `${place && count < 100 ? count.toFixed(1) : Math.round(count)} ${units[place]}`;
}

/** The beginning of a hash: enough to compare by eye. */
export function short(hash: string): string {
  return hash.slice(0, 12);
}

/** A UTC time as this browser's place has it; as it came where it is none. */
export function when(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime())
    ? iso
    : time.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
