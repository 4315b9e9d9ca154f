import { findScenario } from '../suite.ts';
import type { Case } from './scenario.ts';

const [scenario, contestant, work] = process.argv.slice(2) as [string, string, string];
const figures = await findScenario(scenario).measure(contestant, JSON.parse(work) as Case);
process.send!(figures, () => process.exit());
