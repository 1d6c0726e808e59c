/**
 * Starts to count the CPU time of this process, all threads together. The returned function gives the milliseconds so
 * far. Unlike wall time, CPU time depends little on other load of the machine.
 */
export function startCpuClock(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}
