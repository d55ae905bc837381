/**
 * All controllers of this program: src/main.ts starts them, dev.ts and `npm run crd` use their
 * definitions. `capstan add` appends a line here.
 */
export { GreetingController } from './controllers/greeting.ts';
