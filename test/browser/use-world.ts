/** The shared world of a test file: opened before its first test, closed after its last. */
import { afterAll, beforeAll, setDefaultTimeout } from 'bun:test';

/** How long a test may take, which on a busy machine is many times what it usually takes. */
const CASE_MS_MAX = 120_000;

/** Opens a world before the tests of the file and closes it after them; until then it is empty. */
export function useWorld<World extends { readonly close: () => Promise<void> }>(
  open: () => Promise<World>,
): World {
  setDefaultTimeout(CASE_MS_MAX);
  const world = {} as World;
  beforeAll(async () => {
    Object.assign(world, await open());
  });
  afterAll(() => world.close?.());
  return world;
}
