/** The processor time that some work takes this process. Unlike the time that passes, it does not depend on what else the machine does. */
export function cpuMsOf(work: () => unknown): number {
  const began = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
