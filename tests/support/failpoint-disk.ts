/**
 * A failpoint preload (failpoint.ts) with two orders. `full` simulates a full disk under the program's database, and `free`
 * frees the disk again.
 */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';

onOrder(order => fillDisk(order === 'full'));
