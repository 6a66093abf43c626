#!/usr/bin/env bash
# All that a GPU is wanted for, measured in one call of less than nine minutes, without network.
#
#   benchmarks/gpu_table.sh OUT [--quick]
#
# OUT gets a file of each benchmark, the metrics of three runs on CIFAR-10, and table.txt, which says
# how each part ended and how many seconds it took. What does not fit into its time is cut off;
# what it had measured is in its log.
# PYTHON names the interpreter, DATA the folder of cifar10.npz. --quick shows that all of it runs,
# on a CPU, with toy sizes and the bundled digits.
set -uo pipefail

out=${1:?"usage: benchmarks/gpu_table.sh OUT [--quick]"}
quick=${2:-}
python=${PYTHON:-python}
data=${DATA:-data}
# The parts' limits add up to this.
seconds_in_all=530
# What 20,000 steps of the default generator take is told from so many.
ntk_steps=300

mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
table="$out/table.txt"
# Several processes of a benchmark may hold the GPU at once.
export XLA_PYTHON_CLIENT_PREALLOCATE=false

device=$("$python" -c 'import jax; device = jax.devices()[0]; print(f"{device.platform}: {device.device_kind}")') || exit 1
echo "device: $device" | tee "$table"
if [[ -z $quick && $device == cpu:* ]]; then
  echo "jax finds no GPU here. --quick shows on a CPU that all of it runs." >&2
  exit 1
fi

# part NAME MOST COMMAND...: runs a command for at most so many seconds, and writes down how it ended.
part() {
  local name=$1 most=$2 left=$((seconds_in_all - SECONDS)) started=$SECONDS
  shift 2
  if ((left < 5)); then
    echo "$name: left out, no time" | tee -a "$table"
    return
  fi
  timeout -k 5 "$((most < left ? most : left))" "$@" >"$out/$name.log" 2>&1
  case $? in
    0) ended="done" ;;
    124 | 137) ended="cut off" ;;
    *) ended="failed, see $name.log" ;;
  esac
  echo "$name: $ended, $((SECONDS - started)) s" | tee -a "$table"
}

# cell NAME MOST MODULE FLAGS...: a run of a driver, whose metrics are kept.
cell() {
  local name=$1 most=$2 module=$3
  shift 3
  rm -f "$out/$name.json" # of an earlier call
  part "$name" "$most" "$python" -m "experiments.$module" "$@" --out_dir="$out/runs/$name" --overwrite
  if [[ -f "$out/runs/$name/metrics.json" ]]; then
    cp "$out/runs/$name/metrics.json" "$out/$name.json"
  fi
}

for each in clipping:60 float64_share:45 ntk_throughput:100 scattering:30 networks:50 entk_embedding:40 dp_kip_epoch:45; do
  name=${each%%:*}
  part "$name" "${each##*:}" "$python" "benchmarks/$name.py" "${quick:---together}" --out="$out/$name.txt"
done

if [[ -n $quick ]]; then
  cell dp_kip 60 dp_kip --dataset=digits --ipc=1 --eps=1 --steps=3
  cell teacher 60 dp_kip_teacher --dataset=digits --ipc=1 --eps=1 --steps=3 --distill_steps=3
  cell dp_ntk 60 dp_ntk --dataset=digits --eps=1 --steps=3 --batch_size=20 --num_synthetic=20 --evaluate=none
elif [[ -f $data/cifar10.npz ]]; then
  cell dp_kip 110 dp_kip --dataset=cifar10 --data_dir="$data" --ipc=50 --eps=1
  cell teacher 80 dp_kip_teacher --dataset=cifar10 --data_dir="$data" --ipc=10 --eps=1
  cell dp_ntk 80 dp_ntk --dataset=cifar10 --data_dir="$data" --eps=10 --steps="$ntk_steps" --num_synthetic=1000 --evaluate=none
  echo "dp_ntk: train_seconds of dp_ntk.json are those of $ntk_steps steps, compilation included; the default is 20000" | tee -a "$table"
else
  echo "dp_kip, teacher, dp_ntk: left out, there is no $data/cifar10.npz" | tee -a "$table"
fi

rm -rf "$out/runs"
echo "$SECONDS s in all" | tee -a "$table"
! grep -q "failed" "$table"
