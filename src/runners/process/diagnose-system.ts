import { createLauncher } from './create-launcher.ts';
import { type Diagnosis, findSupport } from './diagnose.ts';

/**
 * Tries each layer that keeps tools in processes from doing harm, and says which are active on this system, why the
 * others are not, and what to do about it.
 */
export async function diagnose(): Promise<Diagnosis> {
  const launcher = createLauncher();
  try {
    const { cgroups, diagnosis } = await findSupport(launcher);
    await cgroups?.close();
    return diagnosis;
  } finally {
    await launcher.close();
  }
}
