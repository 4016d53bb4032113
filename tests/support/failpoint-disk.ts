/** Fills the disk under a program's database (`full`), and makes room again (`free`). */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';

onOrder(order => fillDisk(order === 'full'));
