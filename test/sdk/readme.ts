import { join } from 'node:path';

export const README = join(import.meta.dir, '../../sdk/README.md');

/** The examples of the SDK's own page, one after another as one program, whose names the later ones share. */
export async function readmeProgram(): Promise<string> {
  const text = await Bun.file(README).text();
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code).join('\n');
}
