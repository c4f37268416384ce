/** Running output as a terminal would show it: what moves back (`\r`, `\b`) overwrites what is there. */
export function asShown(text: string): string {
  if (!/[\r\b]/.test(text)) {
    return text;
  }
  return text.replace(/\r+\n/g, '\n').split('\n').map(line).join('\n');
}

function line(text: string): string {
  if (!/[\r\b]/.test(text)) {
    return text;
  }
  const shown: string[] = [];
  let place = 0;
  for (const character of text) {
    if (character === '\r') {
      place = 0;
    } else if (character === '\b') {
      place = Math.max(0, place - 1);
    } else {
      shown[place] = character;
      place += 1;
    }
  }
  return shown.join('');
}
