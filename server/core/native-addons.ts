/**
 * Disables native addons in this thread: machine code of a package could read the keys. The entry points of processes and
 * threads import this module first, for its effect. Packages with an optional addon work without it.
 */
process.dlopen = function refuseAddon(): never {
  throw new Error('Native addons are not loaded beside keys.');
};
