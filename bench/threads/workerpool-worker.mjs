import workerpool from 'workerpool';
import { noOp, spin } from './work.mjs';

workerpool.worker({ noOp, spin });
