import type { ColumnKey } from '../en/columns.ts';

export const columns: Readonly<Record<ColumnKey, string>> = {
  'columns.open': '列',
  'columns.title': '将配置值显示为列',
  'columns.explain': '列表中各任务配置不同的键。此浏览器最多记住 {max, number} 个。',
  'columns.search': '搜索键',
  'columns.none': '列表中各任务的配置相同。',
  'columns.chosen': '已选 {count, number}/{max, number}',
};
