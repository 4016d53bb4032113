import type { InputsKey } from '../en/inputs.ts';

export const inputs: Readonly<Record<InputsKey, string>> = {
  'inputs.title': '其他任务的文件',
  'inputs.result': '最终模型',
  'inputs.best': '最佳检查点',
  'inputs.newest': '最新检查点',
  'inputs.stateNewest': '可继续训练的最新状态',
  'inputs.stateBest': '可继续训练的最佳状态',
  'inputs.step': '第 {step} 步的检查点',
  'inputs.path': '其他文件或文件夹',
  'inputs.pending': '在本任务开始时选定',
  'inputs.missing': '该任务没有此文件。',
  'inputs.gone': '任务已删除',
  'inputs.count': '{count, plural, other {# 个文件}}，{size}',
  'inputs.add': '使用 {name} 的文件',
  'inputs.file': '{name} 的文件',
  'inputs.where': '文件、文件夹或检查点',
  'inputs.whereHint': '例如 samples/cat.png 或 checkpoint 500',
  'inputs.name': '输入名称',
  'inputs.remove': '不使用 {input}',
  'inputs.hint': '在配置中，{placeholder} 表示该文件的路径。',
};
