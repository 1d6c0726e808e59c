/**
 * Refuses native addons in this thread from its first line on: machine code of a package could read the keys past every
 * rule of this one. Imported first, for its effect, by what starts a process or a thread. Packages with a fast path in
 * an addon take their slow one.
 */
process.dlopen = function refuseAddon(): never {
  throw new Error('Native addons are not loaded beside keys.');
};
