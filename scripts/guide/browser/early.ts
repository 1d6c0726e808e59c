/** What a page of the guide runs before it is painted. */
import { applyTheme } from './theme.ts';

applyTheme();
