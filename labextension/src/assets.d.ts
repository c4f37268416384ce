declare module '*.json' {
  const content: { name: string; version: string };
  export default content;
}

declare module '*.svg' {
  const text: string;
  export default text;
}
