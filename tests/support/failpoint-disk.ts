/** Simulates a full disk under a program's database (`full`), and frees it again (`free`). */
import { fillDisk } from './bounded-disk.ts';
import { onOrder } from './failpoint.ts';

onOrder(order => fillDisk(order === 'full'));
