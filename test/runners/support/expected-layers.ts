import { accessSync, constants } from 'node:fs';
import { findCgroupMounts } from '../../../src/runners/process/cgroup.ts';
import type { LayerName } from '../../../src/runners/process/diagnose.ts';

/**
 * What must be active on this machine. bubblewrap is installed before the tests; cgroups are there for users who may
 * write to them. One of these that is not active is a defect, not a property of the machine.
 */
export function expectedLayers(): LayerName[] {
  if (process.platform !== 'linux') return ['process-group'];
  const layers: LayerName[] = ['launcher', 'process-group', 'rlimits', 'namespaces', 'network'];
  const controllers = findCgroupMounts().flatMap(({ version, ownFolder, controllers }) =>
    version === 1 && isWritable(ownFolder) ? controllers : [],
  );
  if (controllers.includes('memory')) layers.push('cgroup-memory');
  if (controllers.includes('pids')) layers.push('cgroup-pids');
  if (controllers.includes('cpuacct')) layers.push('cgroup-cpu');
  return layers;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
